"""Mapped classes, relations, queries and transactions of SQLAlchemy on SQLite."""

import sys

from sqlalchemy import ForeignKey, String, create_engine, event, func, inspect, select, text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import (
    DeclarativeBase,
    Mapped,
    Session,
    mapped_column,
    relationship,
    selectinload,
)


class Base(DeclarativeBase):
    pass


class Author(Base):
    __tablename__ = "author"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(40), unique=True)
    books: Mapped[list["Book"]] = relationship(
        back_populates="author", cascade="all, delete-orphan"
    )


class Book(Base):
    __tablename__ = "book"
    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str]
    pages: Mapped[int]
    author_id: Mapped[int] = mapped_column(ForeignKey("author.id"))
    author: Mapped[Author] = relationship(back_populates="books")


count = int(sys.argv[1])
engine = create_engine("sqlite://")
statements = []
event.listen(engine, "before_cursor_execute", lambda *a: statements.append(a[2]))
Base.metadata.create_all(engine)
with Session(engine) as session:
    for n in range(count):
        author = Author(name=f"author {n}")
        author.books = [Book(title=f"book {n}.{k}", pages=40 * k + n) for k in range(n % 4)]
        session.add(author)
    session.commit()
    print(session.scalar(select(func.count()).select_from(Book)))
    long = select(Author.name, func.sum(Book.pages).label("pages")).join(Book).group_by(Author.id)
    print(session.execute(long.order_by(text("pages DESC")).limit(3)).all())
    loaded = session.scalars(
        select(Author).options(selectinload(Author.books)).where(Author.id < 6)
    )
    print([(author.name, len(author.books)) for author in loaded])
    session.add(Author(name="author 1"))
    try:
        session.commit()
    except IntegrityError as error:
        session.rollback()
        print(type(error.orig).__name__)
    session.delete(session.get(Author, 4))
    session.commit()
    print(session.scalar(select(func.count()).select_from(Book)), len(statements) > 9)
print([column["name"] for column in inspect(engine).get_columns("book")])
