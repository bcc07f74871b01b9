import { describe, expect, test } from 'vitest'

import { createRedactor } from './redactor.js'

const SECRET = 'k3y/with "quotes"\nand lines'

function knows(secrets: Readonly<Record<string, string>>) {
  const redactor = createRedactor()
  for (const [name, value] of Object.entries(secrets)) redactor.note(name, value)
  return redactor
}

describe('a text', () => {
  test.each([
    ['as it is', `refused ${SECRET}!`, 'refused [secret KEY]!'],
    ['as JSON', JSON.stringify({ key: SECRET }), '{"key":"[secret KEY]"}'],
    [
      'in a URL',
      `https://a.example/?key=${encodeURIComponent(SECRET)}&b`,
      'https://a.example/?key=[secret KEY]&b',
    ],
    ['several times', `${SECRET}${SECRET}`, '[secret KEY][secret KEY]'],
    ['not at all', 'k3y/with quotes', 'k3y/with quotes'],
  ])('holds no secret: %s', (_where, text, redacted) => {
    expect(knows({ KEY: SECRET }).redact(text)).toBe(redacted)
  })

  test('is found without the blanks around a secret', () => {
    expect(knows({ KEY: '  canary-1\n' }).redact('Bearer canary-1,')).toBe('Bearer [secret KEY],')
  })

  test('keeps values that are parts of ordinary words', () => {
    const redactor = knows({ SHORT: 'agent', EMPTY: '', BLANK: '          ' })
    expect(redactor.redact('the agents of          ours')).toBe('the agents of          ours')
  })

  test('may be redacted twice, whatever a secret is', () => {
    const redactor = knows({ A: 'secret', B: '[secret A]x', C: 'secret A', 'ONE$&': 'dollar-1' })
    const once = redactor.redact('secret, [secret A]x, dollar-1')
    expect(once).toBe('[secret A], [secret A]x, [secret ONE$&]')
    expect(redactor.redact(once)).toBe(once)
  })

  test('of two secrets the longer one is found', () => {
    expect(knows({ USER: 'canary', KEY: 'canary-1' }).redact('canary-1 canary')).toBe(
      '[secret KEY] [secret USER]',
    )
  })
})

describe('a value', () => {
  const redactor = knows({ KEY: 'canary-1', PIN: '12345678' })

  test('holds no secret at any depth, nor in names of fields', () => {
    const value = { list: [1, { 'of canary-1': ['x', 'canary-1'] }], pin: 12_345_678, other: 912_345_678 }
    expect(redactor.redactJson(value)).toEqual({
      list: [1, { 'of [secret KEY]': ['x', '[secret KEY]'] }],
      pin: '[secret PIN]',
      other: 912_345_678,
    })
    expect(value.list[1]).toEqual({ 'of canary-1': ['x', 'canary-1'] })
  })

  test('that holds none is the same object', () => {
    const value = { at: new Date(0), link: new URL('https://a.example'), bytes: new Uint8Array([1]), no: NaN }
    expect(redactor.redactJson(value)).toBe(value)
    expect(createRedactor().redactJson(value)).toBe(value)
  })

  test('that makes its own JSON is looked at as that', () => {
    const value = { token: { toJSON: () => ({ key: 'canary-1' }) } }
    expect(redactor.redactJson(value)).toEqual({ token: { key: '[secret KEY]' } })
  })

  test('may be a ring, and as deep as it likes', () => {
    const ring: Record<string, unknown> = { text: 'canary-1' }
    ring['self'] = ring
    expect(redactor.redactJson(ring)).toMatchObject({ text: '[secret KEY]' })
    let deep: unknown = 'canary-1'
    for (let level = 0; level < 50_000; level += 1) deep = [deep]
    expect(JSON.stringify(redactor.redactJson(deep))).toContain('[[[["[nested too deep]"]]]]')
  })
})

describe('what was thrown', () => {
  const redactor = knows({ KEY: 'canary-1' })

  test('is an error of the same name, without the secret in its stack', () => {
    const thrown = redactor.redactThrown(new TypeError('refused canary-1')) as Error
    expect([thrown.name, thrown.message]).toEqual(['TypeError', 'refused [secret KEY]'])
    expect(thrown.stack).toContain('TypeError: refused [secret KEY]')
    expect(thrown.stack).not.toContain('canary-1')
  })

  test('is itself where it holds none', () => {
    const thrown = new Error('refused')
    expect(redactor.redactThrown(thrown)).toBe(thrown)
    expect(redactor.redactThrown('refused')).toBe('refused')
  })

  test.each([['canary-1'], [{ message: 'canary-1', block: true }], [{ toString: (): string => 'canary-1' }]])(
    'may be anything: %o',
    (thrown) => {
      expect(redactor.redactThrown(thrown)).toMatchObject({ message: '[secret KEY]' })
    },
  )
})
