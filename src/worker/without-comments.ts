/** Comments that have their lines to themselves, as all of our longer ones do. */
const COMMENTS = /^[ \t]*(?:\/\/.*|\/\*(?:(?!\*\/)[^])*\*\/)[ \t]*$/gm

interface LoaderContext {
  callback(error: null, source: string, map: unknown): void
}

/** A loader of webpack: empties the lines of comments, so that all others keep their numbers and the source map holds. */
// oxlint-disable-next-line import/no-default-export -- what webpack calls
export default function withoutComments(this: LoaderContext, source: string, map: unknown): void {
  this.callback(null, emptied(source), map)
}

function emptied(source: string): string {
  return source.replaceAll(COMMENTS, (comment) => '\n'.repeat(comment.split('\n').length - 1))
}
