"""The first floor of `page`: one walk over a page's tree, and the blocks, hints and images it collects."""
