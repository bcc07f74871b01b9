import { expect, test } from 'vitest'

import { scriptedTerminal } from '../../test/support/scripted-terminal.js'
import type { PendingRequest } from '../client/index.js'
import { askForResult } from './ask-result.js'

type CallRequest = Extract<PendingRequest, { readonly kind: 'call' }>

const REQUEST: CallRequest = {
  ...{ id: 'call_1_1_0', kind: 'call', toolName: 'bake', args: { loaves: 2 }, requestedAt: 1 },
}

async function talk(given: Partial<CallRequest>, ...lines: readonly (string | null)[]) {
  const { terminal, shown } = scriptedTerminal(lines)
  const asking = { terminal, signal: new AbortController().signal }
  return { answer: await askForResult(asking, { ...REQUEST, ...given }, ' of Bob'), shown: shown() }
}

const success = (result: unknown) => ({ result: { status: 'success', result } })

test('a result without a form is the text of the line', async () => {
  const { answer, shown } = await talk({}, 'Two loaves.')
  expect(answer).toEqual(success('Two loaves.'))
  expect(shown).toContain('bake {"loaves":2} of Bob waits for its result: ')
  expect((await talk({}, null)).answer).toBeNull()
})

test('a result with a form is JSON, and a line that is none is asked for again', async () => {
  const form: NonNullable<CallRequest['form']> = {
    ...{ type: 'object', description: 'How large?', properties: { size: { type: 'number' } } },
  }
  const { answer, shown } = await talk({ form }, '{"size":', '{"size":3}')
  expect(answer).toEqual(success({ size: 3 }))
  for (const line of [
    'How large?',
    'as JSON in one line for {"size":{"type":"number"}}',
    '! Expected JSON: ',
  ])
    expect(shown).toContain(line)
  expect((await talk({ form }, null)).answer).toBeNull()
})

test('a form of one text takes the line as it is', async () => {
  expect((await talk({ form: { type: 'string' } }, '{"not": parsed')).answer).toEqual(
    success('{"not": parsed'),
  )
})

test('a person who is asked because the tool has failed reads of it', async () => {
  const { shown } = await talk({ failure: { category: 'transient', isRetryable: true } }, 'Done by hand.')
  expect(shown).toContain('! bake has failed (transient).')
})

const connect = { server: 'tracker', url: 'https://login.example.com/authorize?state=s1', state: 's1' }

test('a login is an address to open, and its answer the address behind it', async () => {
  const { answer, shown } = await talk(
    { connect },
    'code=c1',
    'https://app.example.com/connected?code=c1',
    'https://app.example.com/connected?code=c1&state=s1&iss=https%3A%2F%2Flogin.example.com',
  )
  expect(shown).toContain(`tracker wants you to log in: ${connect.url}`)
  expect(shown.match(/! Expected an address with code and state/g)).toHaveLength(2)
  expect(answer).toEqual(success({ code: 'c1', state: 's1', iss: 'https://login.example.com' }))
})

test('nothing declines a login, and a login that was refused is an answer too', async () => {
  expect((await talk({ connect }, '')).answer).toEqual({
    result: { status: 'error', error: 'The person declined.' },
  })
  const refused = 'http://localhost:3000/?error=access_denied&state=s1'
  expect((await talk({ connect }, refused)).answer).toEqual(success({ error: 'access_denied', state: 's1' }))
})
