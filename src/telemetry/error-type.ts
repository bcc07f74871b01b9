import { ThreadError } from '../protocol/errors.js'
import { FAILURES } from '../protocol/failures.js'

/** OpenTelemetry's word for all others. */
const OTHER = '_OTHER'

/** The name of a failure of ours; what others throw may bear any name, and content in it (T5). */
export function errorTypeOf(error: unknown): string {
  if (ThreadError.isInstance(error)) return error.code
  if (typeof error !== 'object' || error === null) return OTHER
  if ('type' in error && typeof error.type === 'string' && Object.hasOwn(FAILURES, error.type))
    return error.type
  return 'name' in error && error.name === 'CancelledFailure' ? 'cancelled' : OTHER
}
