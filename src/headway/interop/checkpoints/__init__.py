"""Checkpoints of toolkits for PyTorch as bundles: fairseq's and JoeyNMT's.

from headway.interop.checkpoints import import_joeynmt
import_joeynmt("models/iwslt14-deen-bpe", "de-en")
"""

from headway.interop.checkpoints.importing import import_fairseq, import_joeynmt
from headway.interop.imported import Imported

__all__ = ["Imported", "import_fairseq", "import_joeynmt"]
