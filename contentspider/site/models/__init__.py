"""The model of a site: how it filters pages, and how it is kept."""
