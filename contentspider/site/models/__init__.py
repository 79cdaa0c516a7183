"""The site model: its data, its files and generations, and its extractions and explanation."""
