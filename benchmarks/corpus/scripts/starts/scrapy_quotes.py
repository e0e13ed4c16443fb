"""A spider that reads one page, as in Scrapy's overview; the page lies beside it."""

import pathlib
from typing import ClassVar

import scrapy


class QuotesSpider(scrapy.Spider):
    name = "quotes"
    start_urls: ClassVar = [pathlib.Path(__file__).with_name("quotes.html").as_uri()]

    def parse(self, response):
        for quote in response.css("div.quote"):
            print(quote.css("span.text::text").get())
            yield {"text": quote.css("span.text::text").get()}
