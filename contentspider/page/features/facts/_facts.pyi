from contentspider.page.blocks import PageBlocks

class PageFacts:
    def __init__(self, page: PageBlocks) -> None: ...
