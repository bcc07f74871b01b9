import { describe, expect, test } from 'vitest'
import { seededRandom } from '../../test/support/seeded-random.js'
import { LIMITS } from './limits.js'
import {
  childReportProblem,
  messageIdProblem,
  queueMessageProblem,
  queueToolProblem,
  queuedItemProblem,
  respondProblem,
  setEnvProblem,
  stopProblem,
  threadIdProblem,
  threadStartProblem,
} from './message-problems.js'
import { rootOf } from './messages.js'
import { isObject, utf8Length } from './values.js'

const UNDECODABLE = { undecodable: true }
const PARENT = 'Expected "parent" to be { threadId, callId, root }, got object.'

describe('bytes of a text', () => {
  const texts = [
    '',
    'plain',
    'é',
    '€uro',
    '\u{1f600}',
    'a\ud800b',
    '\udc00',
    '\ud800\ud800\udc00',
    '\u07ff\u0800\uffff',
  ]

  test.each(texts)('%j is as long as its encoding', (text) => {
    expect(utf8Length(text)).toBe(new TextEncoder().encode(text).length)
  })

  test('any text is as long as its encoding', () => {
    const random = seededRandom(1)
    for (let round = 0; round < 2000; round += 1) {
      const units = Array.from({ length: random.below(40) }, () => random.below(0x10000))
      const text = String.fromCharCode(...units)
      expect(utf8Length(text), JSON.stringify(text)).toBe(new TextEncoder().encode(text).length)
    }
  })
})

describe('the root of a thread', () => {
  test('is itself, or what its start says', () => {
    const parent = { threadId: 'p', callId: 'c' }
    expect(rootOf('t', {})).toBe('t')
    expect(rootOf('t', { parent: { ...parent, root: 'r' } })).toBe('r')
    expect(rootOf('t', { parent })).toBe('p')
  })
})

describe('a start input', () => {
  const start = { agent: 'clerk' }

  test.each([
    [start],
    [{ ...start, message: { messageId: 'm' }, userId: 'u', tags: ['x'], resumable: false }],
    [{ ...start, parent: { threadId: 'p', callId: 'c' }, searchAttributes: ['ThreadAgent'] }],
    [{ ...start, parent: { threadId: 'p', callId: 'c', root: 'r' } }],
    [{ ...start, limits: { heartbeatTimeout: 5000, historyEvents: 0 } }],
    [{ ...start, store: '0123456789ab' }],
    [{ ...start, fieldOfALaterVersion: [{ deep: true }] }],
  ])('T11 %j is taken', (input) => {
    expect(threadStartProblem(input)).toBeUndefined()
  })

  test.each([
    [undefined, 'Expected an object with "agent", got undefined.'],
    [UNDECODABLE, 'Expected "agent" to be the name of an agent, got undefined.'],
    ['clerk', 'Expected an object with "agent", got a text of 5 characters.'],
    [[start], 'Expected an object with "agent", got a list.'],
    [{ agent: '' }, 'Expected "agent" to be the name of an agent, got an empty text.'],
    [
      { ...start, store: 'file:x.db' },
      'Expected "store" to be the id of a store, 12 letters and digits, got a text of 9 characters.',
    ],
    [{ ...start, store: 5 }, 'Expected "store" to be the id of a store, 12 letters and digits, got number.'],
    [{ ...start, message: { content: '' } }, 'Expected "messageId" or a "content" that is not empty'],
    [{ ...start, parent: { threadId: 'p' } }, PARENT],
    [{ ...start, parent: { threadId: 'p', callId: 'c'.repeat(97) } }, PARENT],
    [{ ...start, parent: { threadId: 'p', callId: 'c', root: '' } }, PARENT],
    [{ ...start, userId: 7 }, 'Expected "userId" to be a text of 1 to 200 characters, got number.'],
    [
      { ...start, userId: 'x'.repeat(201) },
      'to be a text of 1 to 200 characters, got a text of 201 characters.',
    ],
    [
      { ...start, tags: 'x' },
      'Expected "tags" to be a list of at most 32, each a text of 1 to 200 characters',
    ],
    [{ ...start, tags: [''] }, 'Expected "tags" to be a list of at most 32, each a text'],
    [{ ...start, searchAttributes: [1] }, 'Expected "searchAttributes" to be a list of names'],
    [
      { ...start, showsWork: 'yes' },
      'Expected "showsWork" to be true or absent, got a text of 3 characters.',
    ],
    [{ ...start, page: 'javascript:alert(1)' }, 'Expected "page" to be an http address'],
    [{ ...start, page: 'https://a b' }, 'Expected "page" to be an http address'],
    [{ ...start, limits: null }, 'Expected "limits" to be an object, got null.'],
    [
      { ...start, limits: { heartbeatTimeout: -1 } },
      'Expected "limits.heartbeatTimeout" to be 1000 to 600000 milliseconds',
    ],
    [{ ...start, limits: { historyEvents: 1.5 } }, 'Expected "limits.historyEvents" to be a whole number'],
    [{ ...start, limits: { historyEvents: '5' } }, 'Expected "limits.historyEvents" to be a whole number'],
  ])('T10 %j is refused with a sentence', (input, problem) => {
    expect(threadStartProblem(input)).toContain(problem)
  })
})

describe('a message', () => {
  test.each([
    [{ messageId: 'm' }],
    [{ messageId: 'm', role: 'assistant', from: 'tool' }],
    [{ messageId: 'm', from: 'parent', invocation: 'call_1_1_0' }],
    [{ messageId: 'm'.repeat(96) }],
    [{ content: 'x'.repeat(4096) }],
    [{ content: '\u{1f600}'.repeat(1024), silent: true }],
  ])('%j is taken', (input) => {
    expect(queueMessageProblem(input)).toBeUndefined()
  })

  test.each([
    [undefined, 'got undefined'],
    [UNDECODABLE, 'got undefined'],
    [{ messageId: '' }, 'got an empty text'],
    [{ messageId: 'm'.repeat(257) }, 'got a text of 257 characters'],
    [{ messageId: 7, content: 'x' }, 'Expected a message id'],
    [{ messageId: 'm', invocation: '' }, 'Expected "invocation" to be the id of a call, got an empty text.'],
    [{ messageId: 'm', invocation: '\u0001'.repeat(17) }, 'got a text of 17 characters'],
    [{ content: 'x'.repeat(4097) }, 'at most 4096 bytes, got 4097'],
    [{ content: '\u{1f600}'.repeat(1025) }, 'at most 4096 bytes, got 4100'],
    [{ content: { text: 'x' } }, 'got object'],
    [{ content: 'x', role: 'tool' }, 'Expected "role" to be "user" or "assistant"'],
  ])('T10 %j is refused with a sentence', (input, problem) => {
    expect(queueMessageProblem(input)).toContain(problem)
  })
})

test.each([
  ['a', undefined],
  ['x'.repeat(200), undefined],
  ['', 'Expected a thread id'],
  ['x'.repeat(201), 'got a text of 201 characters'],
  [7, 'Expected a thread id'],
  ['everthread:sweep', 'kept for Everthread itself'],
])('the thread id %j', (id, problem) => {
  if (problem === undefined) expect(threadIdProblem(id)).toBeUndefined()
  else expect(threadIdProblem(id)).toContain(problem)
})

test.each([[undefined], [null], [{}], [{ runId: 'run_1' }], [{ children: false }], [{ later: 1 }]])(
  'the stop %j is taken',
  (input) => {
    expect(stopProblem(input)).toBeUndefined()
  },
)

test.each([[UNDECODABLE], ['run_1'], [[]], [{ runId: 1 }], [{ children: 'no' }]])(
  'T10 the stop %j is refused',
  (input) => {
    expect(stopProblem(input)).toContain('Expected no input or { runId, children,')
  },
)

describe('a queued tool', () => {
  test('it has an id and a name', () => {
    expect(queueToolProblem({ toolCallId: 't', name: 'work', later: 1 })).toBeUndefined()
  })

  test.each([
    [undefined, 'Expected { toolCallId, name }, got undefined.'],
    [UNDECODABLE, 'Expected "toolCallId" to be an id of 1 to 96 bytes, got undefined.'],
    [{ toolCallId: 'everthread:x', name: 'work' }, 'Expected "toolCallId"'],
    [{ toolCallId: 't', name: '' }, 'Expected "name" to be the name of a tool, got an empty text.'],
    [{ toolCallId: 't', name: 'n'.repeat(129) }, 'got a text of 129 characters'],
  ])('T10 %j is refused with a sentence', (input, problem) => {
    expect(queueToolProblem(input)).toContain(problem)
  })
})

describe('variables that were set', () => {
  test('they are named', () => {
    expect(setEnvProblem({ names: ['A', 'B'] })).toBeUndefined()
  })

  test.each([[undefined], [UNDECODABLE], [{ names: [] }], [{ names: [''] }], [{ names: 'A' }]])(
    'T10 %j is refused',
    (input) => {
      expect(setEnvProblem(input)).toContain('Expected { names }')
    },
  )
})

describe('an answer to a request', () => {
  test.each([
    [{ id: 'r', approved: true }],
    [{ id: 'r', approved: false, later: 1 }],
    [{ id: 'r', names: ['A'] }],
    [{ id: 'r', result: true }],
  ])('%j is taken', (input) => {
    expect(respondProblem(input)).toBeUndefined()
  })

  test.each([
    [undefined, 'got undefined'],
    [UNDECODABLE, 'Expected "id" to be the id of a request, got undefined.'],
    [{ approved: true }, 'Expected "id"'],
    [{ id: 'r' }, 'Expected one of'],
    [{ id: 'r', approved: 'yes' }, 'Expected one of'],
    [{ id: 'r', names: [1] }, 'Expected one of'],
    [{ id: 'r', result: false }, 'Expected one of'],
    [{ id: 'r', approved: true, result: true }, 'Expected one of'],
  ])('T10 %j is refused with a sentence', (input, problem) => {
    expect(respondProblem(input)).toContain(problem)
  })
})

describe('a report of a child', () => {
  const report = { reference: 'k', report: 1, invocations: ['c'], kind: 'result' }

  test.each([
    [report],
    [{ ...report, kind: 'notice', invocations: [] }],
    [{ ...report, kind: 'failure', messageId: 'r', closes: true, later: 1 }],
    [{ ...report, invocations: Array.from({ length: LIMITS.invocations }, (_, index) => `c${index}`) }],
  ])('%j is taken', (input) => {
    expect(childReportProblem(input)).toBeUndefined()
  })

  test.each([
    ...Object.keys(report).map((name) => ({ ...report, [name]: undefined })),
    { ...report, report: 0 },
    { ...report, kind: 'rumour' },
    { ...report, messageId: '' },
    { ...report, closes: 'yes' },
    { ...report, invocations: [7] },
    { ...report, invocations: Array.from({ length: LIMITS.invocations + 1 }, () => 'c') },
    null,
  ])('T10 %j is refused', (input) => {
    expect(childReportProblem(input)).toContain('Expected')
  })
})

test('T5 no sentence repeats what came', () => {
  const secret = 'sk-secret'
  const inputs = [
    secret,
    [secret],
    { agent: [secret] },
    { messageId: [secret] },
    { content: [secret] },
    { runId: [secret] },
  ]
  const problems = [
    threadStartProblem,
    queueMessageProblem,
    stopProblem,
    childReportProblem,
    messageIdProblem,
    queueToolProblem,
    setEnvProblem,
    respondProblem,
    queuedItemProblem,
  ]
  for (const problem of problems)
    for (const input of inputs) expect(String(problem(input))).not.toContain(secret)
})

test('what cannot be decoded is named as that', () => {
  expect(stopProblem(UNDECODABLE)).toContain('a payload that cannot be decoded')
})

test('lists and null are no objects', () => {
  expect([{}, [], null, 'x', undefined].map(isObject)).toEqual([true, false, false, false, false])
})
