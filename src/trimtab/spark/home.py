"""Locates Apache Spark and Java."""

import importlib.util
import os
import shutil
import sys
from pathlib import Path

from trimtab.errors import UserError
from trimtab.installation import how_to_get
from trimtab.places import OPTIONAL_PARTS

_BUILT = OPTIONAL_PARTS / "spark"


def spark_home() -> Path:
    """Return the folder of Spark: from `make deps-spark`, or else of an installed PySpark.

    Raises UserError when there is none.
    """
    if (_BUILT / "pyspark" / "bin" / "spark-class").is_file():
        return _BUILT / "pyspark"
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        raise UserError(f"Apache Spark is missing: {how_to_get('deps-spark', 'spark')}")
    return Path(found.origin).parent


def java() -> Path:
    """Return Java's launcher: in JAVA_HOME, or else on the PATH.

    Raises UserError when there is none.
    """
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=f"{home}/bin" if home else None)
    if found is None:
        where = f"JAVA_HOME ({home})" if home else "the PATH"
        raise UserError(f"no Java in {where}: run `make deps-spark`, or install Java 17 or 21")
    return Path(found)


def use_spark() -> Path:
    """Make `import pyspark` work in this process and in Spark's Python workers; return its folder.

    The folder is last on the path, so all other libraries are this environment's. Raises UserError
    when Spark or Java is missing.
    """
    home = spark_home()
    java()
    if str(home.parent) not in sys.path:
        sys.path.append(str(home.parent))
    os.environ["SPARK_HOME"] = str(home)
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    return home
