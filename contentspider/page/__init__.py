"""One page: blocks, hints, features, text and Markdown out."""


def _check_walk() -> None:
    """Raise `ImportError` unless the compiled walk is there and reads the nodes of the lxml that is
    installed.
    """
    cause: Exception | None = None
    try:
        from lxml import etree

        from contentspider.page.blocks import extract_blocks

        page = extract_blocks(
            etree.fromstring(
                "<body>a<p id='b' class='c d'>e<a href='f'>g</a><!-- h -->i</p></body>"
            ),
            attributes=True,
        )
        found = [(block.path, block.text, block.spans) for block in page.blocks]
        if found == [
            ("body", "a", ()),
            ("body/p#b.c.d", "egi", ((1, 2, "f"),)),
        ] and page.attributes[1][0] == ("id", "b"):
            return
    except (ImportError, ValueError) as error:  # ValueError: lxml's objects have another size
        cause = error
    raise ImportError(
        "contentspider's compiled part is missing, or was built against an lxml unlike yours"
        f" ({cause or 'it reads nodes wrongly'}); build it again: pip install --force-reinstall"
        " --no-binary contentspider contentspider"
    ) from cause


_check_walk()
