/** Comments on lines of their own, as all of our longer ones are. */
const COMMENTS = /^[ \t]*(?:\/\/.*|\/\*(?:(?!\*\/)[^])*\*\/)[ \t]*$/gm

interface LoaderContext {
  callback(error: null, source: string, map: unknown): void
}

/** A loader of webpack that empties the lines of comments. The other lines keep their numbers, so source maps stay valid. */
// oxlint-disable-next-line import/no-default-export -- webpack calls the default export
export default function withoutComments(this: LoaderContext, source: string, map: unknown): void {
  this.callback(null, emptyComments(source), map)
}

function emptyComments(source: string): string {
  return source.replaceAll(COMMENTS, (comment) => '\n'.repeat(comment.split('\n').length - 1))
}
