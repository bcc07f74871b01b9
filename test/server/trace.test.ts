import { expect, test } from 'vitest'
import { createThreadApp } from '../../src/server/index.js'
import { activeTraceparent } from '../../src/telemetry/spans.js'
import { recordSpans } from '../support/record-spans.js'
import { OPERATOR } from './server-fixture.js'

test("what a request does belongs to its caller's trace", async () => {
  recordSpans(() => undefined)
  const seen: (string | null)[] = []
  const owner = async (): Promise<null> => {
    seen.push(activeTraceparent())
    return null
  }
  const app = createThreadApp({
    client: { owner } as never,
    tokens: [{ token: OPERATOR }],
    log: () => undefined,
  })
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  for (const given of [traceparent, 'none'])
    await app.request('/threads/a', {
      headers: { authorization: `Bearer ${OPERATOR}`, traceparent: given },
    })
  expect(seen).toEqual([traceparent, null])
})
