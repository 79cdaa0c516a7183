"""Walks a page's tree once and collects its blocks, hints, images and films."""
