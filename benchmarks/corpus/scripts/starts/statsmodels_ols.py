"""An ordinary regression on data that the package carries."""

import statsmodels.api as sm

data = sm.datasets.longley.load_pandas()
model = sm.OLS(data.endog, sm.add_constant(data.exog)).fit()
print(model.params.round(3).to_string())
