"""Models of Marian as bundles: folders of Hugging Face, of Marian itself, and Firefox students.

from headway.interop.marian import import_marian
import_marian("opus-mt-en-de", "en-de")
"""

from headway.interop.imported import Imported
from headway.interop.marian.importing import import_marian

__all__ = ["Imported", "import_marian"]
