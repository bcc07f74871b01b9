import { expect, test } from 'vitest'
import { StoreError } from '../store-error.js'
import { asS3Error, statusOf } from './s3-error.js'

/** An error as the AWS SDK makes it. */
function sdkError(name: string, httpStatusCode?: number): Error {
  const error = Object.assign(new Error('GET /b?X-Amz-Signature=secret'), { name })
  return httpStatusCode === undefined ? error : Object.assign(error, { $metadata: { httpStatusCode } })
}

test.each([
  [sdkError('NoSuchBucket', 404), 'unavailable', 'no such bucket'],
  [sdkError('XAdminUserNotFound', 404), 'unavailable', 'credentials are not accepted'],
  [sdkError('AccessDenied', 403), 'unavailable', 's3:GetObject'],
  [sdkError('Unknown', 403), 'unavailable', 's3:GetObject'],
  [sdkError('Unknown', 301), 'unavailable', 'another region'],
  [sdkError('SlowDown', 503), 'busy', 'fewer requests'],
  [sdkError('TimeoutError'), 'unavailable', 'no answer'],
  [Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }), 'unavailable', 'no answer'],
  [new Error('Region is missing'), 'unavailable', 'AWS_REGION'],
  [sdkError('Other', 500), 'unavailable', 'log of the service'],
])('%s becomes one sentence with what to do', (error, code, words) => {
  const stored = asS3Error(error, 'the bucket b')
  expect(StoreError.isInstance(stored) && stored.code).toBe(code)
  expect(String(stored)).toContain('Expected to use the bucket b, got ')
  expect(String(stored)).toContain(words)
})

test('neither the signed request nor a name of several words reaches the sentence', () => {
  expect(String(asS3Error(sdkError('GET /b?secret', 500), 'the bucket b'))).not.toContain('secret')
})

test('an error that is a sentence already stays as it is', () => {
  const known = new StoreError('corrupt', 'The bytes are damaged')
  expect(asS3Error(known, 'the bucket b')).toBe(known)
})

test('the status is that of the response, if there was one', () => {
  expect(statusOf(sdkError('NotFound', 404))).toBe(404)
  expect([statusOf(sdkError('TimeoutError')), statusOf('404')]).toEqual([undefined, undefined])
})
