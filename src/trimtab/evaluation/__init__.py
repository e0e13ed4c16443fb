"""Tables, figures and the report, from the files of the other stages."""
