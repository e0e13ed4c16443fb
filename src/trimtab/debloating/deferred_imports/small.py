import json, decimal
print(1)
