"""The tables of `trimtab imports`: imported modules, and names that modules take from others."""

import pyarrow as pa

_text, _int, _float, _bool = pa.string(), pa.int64(), pa.float64(), pa.bool_()

# One row a module, over all processes of the run; the costliest first.
IMPORTED_MODULES = pa.schema(
    [
        ("module", _text),
        ("package", _text),  # the first part of its name
        ("module_kind", _text),  # python | native | built_in | namespace | failed | other
        ("file", _text),  # empty if there is none
        ("imports", _int),  # how often it was imported, by all processes
        ("own_s", _float),  # without what it imported itself
        ("total_s", _float),
        ("own_growth_bytes", _int),  # of private resident memory; negative where some was freed
        ("total_growth_bytes", _int),
        ("functions_ran", _int),  # after its own import; null if unknown
        ("use", _text),  # ran | read | none | unknown
        ("importers", _text),  # JSON: names of modules, the first importer first
    ]
)

# One row a name that a module takes from an imported one.
IMPORTED_NAMES = pa.schema(
    [
        ("module", _text),
        ("name", _text),  # empty for the module itself
        ("importer", _text),
        ("alias", _text),  # its name there
        ("read", _bool),  # whether code reads it that ran after the import
    ]
)
