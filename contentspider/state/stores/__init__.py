"""Stores of models and histories, on this machine or shared by several."""
