# docker build -t contentspider .                             all extras, without a browser
# docker build --target browser -t contentspider-browser .    with Chromium, for --render
# docker run --rm --user "$(id -u)" -e HOME=/tmp -v "$PWD:/data" contentspider crawl https://example.org
FROM python:3.12-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
# As `make wheelhouse`: pylcs has no wheels, and our own modules are compiled, too.
RUN pip wheel --no-cache-dir --wheel-dir /wheels '.[all]'

FROM python:3.12-slim AS contentspider
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir --no-index --find-links /wheels 'contentspider[all]'
RUN useradd --create-home spider && mkdir /data && chown spider /data
USER spider
# Output, models/ and the state of crawls (.scrapy/contentspider) are in the folder that is mounted.
WORKDIR /data
ENTRYPOINT ["contentspider"]
CMD ["--help"]

FROM contentspider AS browser
USER root
RUN apt-get update && apt-get install -y --no-install-recommends chromium && rm -rf /var/lib/apt/lists/*
USER spider

# What is built without --target.
FROM contentspider
