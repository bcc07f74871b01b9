import { expect, test } from 'vitest'
import type { ThreadState } from '../thread-state.js'
import { declaredVariables, readCredentials } from './http-auth.js'
import type { HttpAuth } from './http-auth.js'

const state = (env: Readonly<Record<string, string>>) =>
  ({ env: async (name: string) => env[name] }) as unknown as ThreadState

test.each<[HttpAuth | undefined, readonly string[]]>([
  [undefined, []],
  [{ bearer: 'A' }, ['A']],
  [{ header: 'X', variable: 'A' }, ['A']],
  [{ query: 'k', variable: 'A' }, ['A']],
  [{ basic: { user: 'A', password: 'B' } }, ['A', 'B']],
])('%j needs the variables %j, but those that are declared', (auth, names) => {
  const own = { name: 'B', type: 'text', required: false, description: 'Mine' } as const
  const declared = declaredVariables(auth, [own], 'shop.example')
  expect(declared[0]).toBe(own)
  expect(declared.slice(1)).toEqual(
    names
      .filter((name) => name !== 'B')
      .map((name) => ({ name, type: 'secret', required: true, description: 'For requests to shop.example' })),
  )
})

test('values lose the line break with which keys are often stored, and what is made of them is known', async () => {
  const auth = { basic: { user: 'A', password: 'B' } } as const
  const { headers, redactor } = await readCredentials(state({ A: 'someone\n', B: ' a word\n' }), auth)
  const pair = Buffer.from('someone:a word').toString('base64')
  expect(headers).toEqual({ authorization: `Basic ${pair}` })
  expect(redactor.redact(`${pair} someone a word`)).toBe('[secret B] [secret A] [secret B]')
})
