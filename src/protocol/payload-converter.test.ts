import { defaultPayloadConverter } from '@temporalio/common'
import type { Payload } from '@temporalio/common'
import { afterEach, describe, expect, test } from 'vitest'

import { seededRandom } from '../../test/support/seeded-random.js'
import type { SeededRandom } from '../../test/support/seeded-random.js'
import { UNDECODABLE, payloadConverter } from './payload-converter.js'

const sandbox = globalThis as { __TEMPORAL_ACTIVATOR__?: { info?: { workflowType?: string } } }

/** Runs a test as inside the sandbox of a workflow of this type. */
function inWorkflow(workflowType: string): void {
  sandbox.__TEMPORAL_ACTIVATOR__ = { info: { workflowType } }
}

afterEach(() => {
  delete sandbox.__TEMPORAL_ACTIVATOR__
})

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const payload = (encoding: string | undefined, data: string | undefined): Payload => ({
  metadata: encoding === undefined ? {} : { encoding: bytes(encoding) },
  ...(data === undefined ? {} : { data: bytes(data) }),
})

const BROKEN: readonly (readonly [string, Payload])[] = [
  ['broken JSON', payload('json/plain', '{"a":')],
  ['no encoding', payload(undefined, '1')],
  ['an unknown encoding', payload('application/gzip', '1')],
  ['no data', payload('json/plain', undefined)],
  ['no metadata', { data: bytes('1') }],
  ['protobuf without a root', payload('json/protobuf', '{}')],
  ['nothing at all', {}],
]

const ENCODINGS = [
  'json/plain',
  'binary/null',
  'binary/plain',
  'json/protobuf',
  'binary/protobuf',
  'binary/encrypted',
  '',
  'json',
]
const SNIPPETS = ['', '{}', 'null', '[1', '"\\ud800"', '{"__proto__":1}', '1e999', 'NaN']

function randomPayload(random: SeededRandom): Payload {
  const metadata: Record<string, Uint8Array> = {}
  if (random.chance(0.9))
    metadata['encoding'] = random.chance(0.8) ? bytes(random.pick(ENCODINGS)) : random.bytes(random.below(20))
  if (random.chance(0.3)) metadata['messageType'] = random.bytes(random.below(8))
  const data = random.chance(0.5) ? bytes(random.pick(SNIPPETS)) : random.bytes(random.below(64))
  return { ...(random.chance(0.95) ? { metadata } : {}), ...(random.chance(0.9) ? { data } : {}) }
}

/** The value or the error of a converter for a payload, in a form that can be compared. */
function outcome(decode: () => unknown): { readonly value: unknown } | 'throws' {
  try {
    return { value: decode() }
  } catch {
    return 'throws'
  }
}

describe('T10 in our workflow types', () => {
  test.each(BROKEN)('%s is undecodable, and not an error', (_what, given) => {
    inWorkflow('agentThread')
    expect(payloadConverter.fromPayload(given)).toBe(UNDECODABLE)
  })

  test.each(['agentThread', 'thread.sweep'])('no bytes make it throw in %s', (type) => {
    inWorkflow(type)
    const random = seededRandom(7)
    const softened = { undecodable: 0, decoded: 0 }
    for (let round = 0; round < 5000; round += 1) {
      const given = randomPayload(random)
      const expected = outcome(() => defaultPayloadConverter.fromPayload(given))
      const came = payloadConverter.fromPayload(given)
      if (expected === 'throws') expect(came).toBe(UNDECODABLE)
      else expect(came).toEqual(expected.value)
      softened[expected === 'throws' ? 'undecodable' : 'decoded'] += 1
    }
    expect(softened.undecodable).toBeGreaterThan(500)
    expect(softened.decoded).toBeGreaterThan(500)
  })
})

describe('elsewhere', () => {
  test.each([['aWorkflowOfTheUser'], ['threads'], ['agentThread2']])('%s gets the error as ever', (type) => {
    inWorkflow(type)
    for (const [, given] of BROKEN)
      expect(outcome(() => payloadConverter.fromPayload(given))).toEqual(
        outcome(() => defaultPayloadConverter.fromPayload(given)),
      )
    expect(() => payloadConverter.fromPayload(payload('json/plain', '{'))).toThrow()
  })

  test('outside of workflows it throws as the default one', () => {
    expect(() => payloadConverter.fromPayload(payload('json/plain', '{'))).toThrow()
  })
})

test.each([[{ a: [1, null, 'é'] }], ['text'], [null], [undefined], [new Uint8Array([1, 2])], [0]])(
  '%j goes through as with the default one',
  (value) => {
    const made = payloadConverter.toPayload(value)
    expect(made).toEqual(defaultPayloadConverter.toPayload(value))
    inWorkflow('agentThread')
    expect(payloadConverter.fromPayload(made)).toEqual(defaultPayloadConverter.fromPayload(made))
  },
)

test('T11 the mark of the undecodable cannot be changed', () => {
  expect(UNDECODABLE).toEqual({ undecodable: true })
  expect(Object.isFrozen(UNDECODABLE)).toBe(true)
})
