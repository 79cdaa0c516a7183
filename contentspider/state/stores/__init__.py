"""Stores of models and books, on this machine or shared by several."""
