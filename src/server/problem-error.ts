import type { ContentfulStatusCode } from 'hono/utils/http-status'

/** A request that is refused by a route itself, in words for its caller. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError'
  readonly status: ContentfulStatusCode
  readonly code: string
  readonly headers: Readonly<Record<string, string>>

  constructor(
    status: ContentfulStatusCode,
    code: string,
    message: string,
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(message)
    this.status = status
    this.code = code
    this.headers = headers
  }
}
