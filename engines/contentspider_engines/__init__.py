"""Search engines that contentspider was never tried with on their real servers."""
