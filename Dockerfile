# docker build -t contentspider .
# docker run --rm --user "$(id -u)" -e HOME=/tmp -v "$PWD:/data" contentspider crawl https://example.org
FROM python:3.12-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
# pylcs has no wheels, and our own walk is compiled, too.
RUN pip wheel --no-cache-dir --wheel-dir /wheels '.[progress]' ./rules ./web

FROM python:3.12-slim
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir --no-index --find-links /wheels 'contentspider[progress]' contentspider-rules contentspider-web \
    && rm -rf /wheels && useradd --create-home spider && mkdir /data && chown spider /data
USER spider
# Output, models/ and the state of crawls (.scrapy/contentspider) are in the folder that is mounted.
WORKDIR /data
ENTRYPOINT ["contentspider"]
CMD ["--help"]
