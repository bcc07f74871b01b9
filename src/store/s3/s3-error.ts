import { StoreError } from '../store-error.js'
import type { StoreErrorCode } from '../store-error.js'

interface Advice {
  readonly code: StoreErrorCode
  readonly text: string
}

const unavailable = (text: string): Advice => ({ code: 'unavailable', text })

const WRONG_KEY = unavailable('the credentials are not accepted: check those that the AWS SDK finds')
const WRONG_REGION = unavailable('the bucket is in another region: name it by region= in the URL')
const NO_ACCESS = unavailable(
  'these credentials may not do that: allow s3:GetObject, PutObject, DeleteObject, AbortMultipartUpload, ' +
    'ListBucket and ListBucketMultipartUploads',
)
const NO_BUCKET = unavailable('there is no such bucket: make it, or correct the URL')
const NO_ANSWER = unavailable('no answer: check the endpoint and the network, or try again')
const TOO_MUCH: Advice = { code: 'busy', text: 'it asks for fewer requests: try again later' }

const BY_NAME: Readonly<Record<string, Advice>> = {
  NoSuchBucket: NO_BUCKET,
  InvalidBucketName: NO_BUCKET,
  InvalidAccessKeyId: WRONG_KEY,
  SignatureDoesNotMatch: WRONG_KEY,
  InvalidToken: WRONG_KEY,
  // The error of versitygw, with the status of a missing object.
  XAdminUserNotFound: WRONG_KEY,
  ExpiredToken: WRONG_KEY,
  RequestTimeTooSkewed: unavailable('the clock of this machine is wrong: set it'),
  AccessDenied: NO_ACCESS,
  PermanentRedirect: WRONG_REGION,
  AuthorizationHeaderMalformed: WRONG_REGION,
  IllegalLocationConstraintException: WRONG_REGION,
  CredentialsProviderError: unavailable(
    'the AWS SDK finds no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or another of its sources',
  ),
  SlowDown: TOO_MUCH,
  ThrottlingException: TOO_MUCH,
  TimeoutError: NO_ANSWER,
  AbortError: NO_ANSWER,
}

const BY_STATUS: Readonly<Record<number, Advice>> = {
  301: WRONG_REGION,
  401: WRONG_KEY,
  403: NO_ACCESS,
  404: NO_BUCKET,
  429: TOO_MUCH,
  503: TOO_MUCH,
}

/** Turns an error of the SDK into a StoreError of one sentence, without keys and headers of the request. */
export function asS3Error(error: unknown, place: string): unknown {
  if (!(error instanceof Error) || StoreError.isInstance(error)) return error
  const { code, text } = adviceFor(error)
  return new StoreError(code, `Expected to use ${place}, got ${labelOf(error)}: ${text}`, error)
}

/** The HTTP status in an error of the SDK; undefined without a response. */
export function statusOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('$metadata' in error)) return undefined
  const metadata = error.$metadata
  if (typeof metadata !== 'object' || metadata === null || !('httpStatusCode' in metadata)) return undefined
  return typeof metadata.httpStatusCode === 'number' ? metadata.httpStatusCode : undefined
}

function adviceFor(error: Error): Advice {
  if (error.message.startsWith('Region is missing')) {
    return unavailable(
      'name one by region= in the URL or by AWS_REGION; us-east-1 does for most other servers',
    )
  }
  const status = statusOf(error)
  const known = BY_NAME[error.name] ?? (status === undefined ? undefined : BY_STATUS[status])
  if (known !== undefined) return known
  if (systemCode(error) !== undefined) return NO_ANSWER
  return unavailable('try again, and look into the log of the service')
}

/** A label without the message, which may quote the signed request. */
function labelOf(error: Error): string {
  if (error.message.startsWith('Region is missing')) return 'no region'
  const status = statusOf(error)
  // The SDK gives errors without a body no useful name.
  const name = systemCode(error) ?? (/^[A-Z]\w{0,60}$/.test(error.name) ? error.name : 'an error')
  return status === undefined ? name : `${name} (HTTP ${status})`
}

function systemCode(error: Error): string | undefined {
  return 'code' in error && typeof error.code === 'string' && /^E[A-Z0-9_]+$/.test(error.code)
    ? error.code
    : undefined
}
