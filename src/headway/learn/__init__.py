"""Exercises, figures and a trained model for the ten pages on the paper.

    from headway import learn

    translator = learn.demonstration()    # a trained Korean-English translator
    learn.check("3.1")                    # print a question
    learn.check("3.1", 0.9957)            # check an answer
    learn.figures.heat_map(...)           # draw a matrix, with tokens and numbers
    learn.speak("ko")                     # messages and figures in Korean; "en" is the default

`check` accepts numbers, lists, arrays, tensors and text. It computes the right answer on the spot,
says if yours is right, and names the usual slips.
"""

from headway.learn import figures
from headway.learn.checking import check
from headway.learn.demonstration import demonstration
from headway.learn.language import speak

__all__ = ["check", "demonstration", "figures", "speak"]
