import pandas as pd
frame = pd.DataFrame({"k": ["a", "b", "a", "b"], "v": [1.0, 2.0, 3.0, 4.0]})
print(frame.groupby("k").v.sum().to_dict())
