"""Linear, generalized and time-series models on the data that statsmodels carries."""

import sys

import numpy as np  # noqa: F401  a formula does
import statsmodels.api as sm
import statsmodels.formula.api as smf
from statsmodels.tsa.arima.model import ARIMA
from statsmodels.tsa.holtwinters import ExponentialSmoothing

lags = int(sys.argv[1])
spector = sm.datasets.spector.load_pandas()
design = sm.add_constant(spector.exog)
print(sm.Logit(spector.endog, design).fit(disp=False).params.round(3).to_dict())
print(sm.GLM(spector.endog, design, sm.families.Poisson()).fit().params.round(3).to_dict())
longley = sm.datasets.longley.load_pandas().data
ordinary = smf.ols("TOTEMP ~ GNP + UNEMP + np.log(POP)", longley).fit()
print(ordinary.params.round(2).to_dict(), f"{ordinary.rsquared:.5f}")
print(sm.RLM(longley["TOTEMP"], sm.add_constant(longley["GNP"])).fit().params.round(2).to_dict())
spots = sm.datasets.sunspots.load_pandas().data["SUNACTIVITY"][-120:].reset_index(drop=True)
print("arima", ARIMA(spots, order=(lags, 0, 1)).fit().forecast(3).round(0).tolist())
smooth = ExponentialSmoothing(spots + 1, trend="add", initialization_method="estimated").fit()
print("smoothing", smooth.forecast(2).round(0).tolist())
print("acf", sm.tsa.acf(spots, nlags=lags).round(4).tolist())
print("adf", f"{sm.tsa.adfuller(spots, maxlag=lags)[0]:.4f}")
print("lowess", sm.nonparametric.lowess(spots, spots.index)[:3, 1].round(3).tolist())
