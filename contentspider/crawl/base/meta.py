"""The keys of ``Request.meta`` that contentspider sets."""

from __future__ import annotations

# The row of the request's address in the book of the crawl.
ROW_META_KEY = "contentspider_row"
# The row of the page whose callback yielded the request.
PARENT_META_KEY = "contentspider_parent"
# The page that a response was read into (`Page`), and the items' pages of its crawl (`Bindings`).
PAGE_META_KEY = "contentspider_page"
BINDINGS_META_KEY = "contentspider_bindings"
# How many items a page has yielded so far.
ITEMS_META_KEY = "contentspider_items"
# The request is for a start address.
START_META_KEY = "contentspider_start"
# No page linked to the address: it comes from the known pages.
ORPHAN_META_KEY = "contentspider_orphan"
# Only the status of the answer counts: it tells whether a known page is still there.
ASKED_META_KEY = "contentspider_asked"
# The id of the known page whose validators (ETag, Last-Modified) the request sends.
CONDITIONAL_META_KEY = "contentspider_conditional"
# The request is sent without validators. True: to check that the site answers 304 truthfully.
CHECK_META_KEY = "contentspider_check"
# How often the request went back into the frontier because its host was down.
WAITS_META_KEY = "contentspider_waits"
# The request only tests whether its host answers again (`HostPauses`).
WITNESS_META_KEY = "contentspider_witness"
# The request is never written to the book, because it carries a password.
IN_MEMORY_META_KEY = "contentspider_in_memory"
# The spider reads robots.txt for the sitemaps in it.
SITEMAPS_META_KEY = "contentspider_sitemaps"
# Digests of the cookies that were sent to each address of a chain of redirects.
SENT_META_KEY = "contentspider_cookies"
# The request belongs to a login: it asks for the form, sends it, or follows the answer.
LOGIN_META_KEY = "contentspider_login"
