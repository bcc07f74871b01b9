import { expect, test, vi } from 'vitest'
import { askCode, runBounded } from './bounded.js'

const never = () => new Promise<never>(() => undefined)
const parts = (timeout = 60_000) => {
  const stop = new AbortController()
  const abort = new AbortController()
  return { stop, abort, bounds: { timeout, signal: stop.signal, abort } }
}

test('work that answers is not aborted', async () => {
  const { abort, bounds } = parts()
  expect(await runBounded(() => 7, bounds)).toEqual({ kind: 'answered', value: 7 })
  expect(abort.signal.aborted).toBe(false)
})

test.each([
  [
    'throws',
    () => {
      throw new Error('No.')
    },
  ],
  ['rejects', () => Promise.reject(new Error('No.'))],
])('work that %s threw', async (_what, work: () => Promise<never>) => {
  expect(await runBounded(work, parts().bounds)).toMatchObject({ kind: 'threw' })
})

test('work that never settles times out and its signal aborts', async () => {
  const { abort, bounds } = parts(1)
  expect(await runBounded(never, bounds)).toEqual({ kind: 'timed_out' })
  expect(abort.signal.aborted).toBe(true)
})

test('a stop ends the work and aborts its signal', async () => {
  const { stop, abort, bounds } = parts()
  const running = runBounded(never, bounds)
  stop.abort()
  expect(await running).toEqual({ kind: 'stopped' })
  expect(abort.signal.aborted).toBe(true)
})

test('a stop that came earlier keeps the work from beginning', async () => {
  const { stop, bounds } = parts()
  stop.abort()
  let begun = false
  expect(await runBounded(() => (begun = true), bounds)).toEqual({ kind: 'stopped' })
  expect(begun).toBe(false)
})

test('code that is asked about a call answers, or there is a reason, but for a stop', async () => {
  const { stop } = parts()
  const throwing = () => Promise.reject(new Error('The key is k.'))
  const redact = () => new Error('The key is hidden.')
  expect(await askCode(() => false, stop.signal)).toEqual({ kind: 'answered', value: false })
  expect(await askCode(throwing, stop.signal, { redact })).toMatchObject({
    ...{ kind: 'silent', thrown: { message: 'The key is hidden.' } },
  })
  vi.useFakeTimers()
  const hanging = askCode(never, stop.signal)
  await vi.advanceTimersByTimeAsync(30_000)
  vi.useRealTimers()
  expect(await hanging).toMatchObject({ thrown: { message: 'It did not answer within 30 s.' } })
  const stopped = askCode(never, stop.signal)
  stop.abort()
  expect(await stopped).toEqual({ kind: 'silent', thrown: null })
})
