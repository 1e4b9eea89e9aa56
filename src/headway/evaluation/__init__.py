"""Evaluation: BLEU, chrF, TER, exact match, word error rate and perplexity, with signatures."""
