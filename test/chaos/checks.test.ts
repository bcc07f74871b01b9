import { describe, expect, test } from 'vitest'

import { checkCalls } from '../../chaos/checks/check-calls.js'
import { checkChildren } from '../../chaos/checks/check-children.js'
import { checkDeltas } from '../../chaos/checks/check-deltas.js'
import { checkEvents } from '../../chaos/checks/check-events.js'
import { checkMessages, checkWaiting } from '../../chaos/checks/check-messages.js'
import { checkModels } from '../../chaos/checks/check-models.js'
import { checkWrites } from '../../chaos/checks/check-writes.js'
import { gatherEvidence } from '../../chaos/checks/evidence.js'
import {
  asked,
  called,
  child,
  deed,
  fact,
  holding,
  kinds,
  received,
  record,
  result,
  said,
  user,
} from './records.js'

const NONCES = [
  `~${'1'.repeat(8)}-1111-1111-1111-${'1'.repeat(12)}~`,
  `~${'2'.repeat(8)}-2222-2222-2222-${'2'.repeat(12)}~`,
]

const REFUSED = 'Error: Expected a thread that takes messages, got t, which was terminated.'

describe('messages', () => {
  const plan = {
    threadId: 't',
    actions: [
      { kind: 'send', id: 'm1', content: 'One', files: [] },
      { kind: 'send', id: 'm2', content: 'Two', files: [] },
    ],
  } as const
  const acknowledged = [
    { threadId: 't', way: 'client', action: 0, kind: 'sent', messageId: 'm1', at: 1 },
    { threadId: 't', way: 'client', action: 1, kind: 'sent', messageId: 'm2', at: 2 },
  ] as const
  const check = (...rows: Parameters<typeof record>[0]) =>
    kinds(checkMessages(record(rows), { plan, acknowledged, unplaced: new Map() }))

  test('what is there once and in order is no finding', () => {
    expect(check(user('m1', 'One'), user('m2', 'Two'))).toEqual([])
  })

  test('a message that is not there is lost', () => {
    expect(check(user('m1', 'One'))).toEqual(['lost'])
  })

  test('the same words under two ids are doubled', () => {
    expect(check(user('m1', 'One'), user('m2', 'Two'), user('m3', 'One'))).toEqual(['doubled'])
  })

  test('another order or other words are wrong', () => {
    expect(check(user('m2', 'Two'), user('m1', 'One'))).toEqual(['wrong'])
    expect(check(user('m1', 'One'), user('m2', 'Tow'))).toEqual(['wrong'])
  })

  test('only a closed thread may reject a message', () => {
    const rest = { plan, acknowledged, unplaced: new Map([['m2', { threadId: 't', status: 'rejected' }]]) }
    const rows = [user('m1', 'One')]
    expect(kinds(checkMessages(record(rows, { closed: true }), rest))).toEqual([])
    expect(kinds(checkMessages(record(rows), rest))).toEqual(['lost'])
    expect(kinds(checkMessages(record(rows, { closed: true }), { ...rest, unplaced: new Map() }))).toEqual([
      'lost',
    ])
  })

  test('a message that nobody takes is stuck', () => {
    const unplaced = new Map([['m', { threadId: 't', status: 'pending' }]])
    expect(kinds(checkWaiting(unplaced, new Set()))).toEqual(['stuck'])
    expect(checkWaiting(unplaced, new Set(['m']))).toEqual([])
    expect(kinds(checkWaiting(unplaced, new Set(['t'])))).toEqual(['stuck'])
  })

  test('what a full queue refused is nowhere', () => {
    const lines = [
      { threadId: 't', way: 'client', action: 0, kind: 'full', messageId: 'm1', at: 1 },
      { threadId: 't', way: 'client', action: 1, kind: 'sent', messageId: 'm2', at: 2 },
    ] as const
    const found = (rows: Parameters<typeof record>[0], ...unplaced: readonly string[]) => {
      const waiting = new Map(unplaced.map((id) => [id, { threadId: 't', status: 'pending' }]))
      return kinds(checkMessages(record(rows), { plan, acknowledged: lines, unplaced: waiting }))
    }
    expect(found([user('m2', 'Two')])).toEqual([])
    expect(found([user('m1', 'One'), user('m2', 'Two')])).toEqual(['wrong'])
    // Over HTTP it has another id.
    expect(found([user('other', 'One'), user('m2', 'Two')])).toEqual(['wrong'])
    expect(found([user('m2', 'Two')], 'm1')).toEqual(['wrong'])
  })

  test('a refusal of the client is wrong', () => {
    const refused = [
      { threadId: 't', way: 'client', action: 0, kind: 'refused', problem: 'no', at: 1 },
    ] as const
    expect(kinds(checkMessages(record([]), { plan, acknowledged: refused, unplaced: new Map() }))).toEqual([
      'wrong',
    ])
  })
})

describe('calls', () => {
  const check = (
    rows: Parameters<typeof record>[0],
    deeds: readonly ReturnType<typeof deed>[],
    at = Infinity,
  ) => {
    const seen = at === Infinity ? [] : [received({ type: 'tool.result', toolCallId: 'c', sequence: 1, at })]
    return kinds(checkCalls(record(rows), deeds, gatherEvidence(deeds, seen)))
  }
  const book = called('c', 'book')
  const unknown = result('c', 'error', 'The outcome of this call is unknown: …')

  test('one side effect and one result are no finding', () => {
    expect(check([book, result('c', 'success', 'book done')], [deed('book', { at: 1 })], 2)).toEqual([])
  })

  test('a cut call that acted at most once is no finding', () => {
    expect(check([book, unknown], [deed('book', { at: 1 })])).toEqual([])
    expect(check([book, unknown], [])).toEqual([])
  })

  test('a tool that was refused by its ended thread is no finding, and acts once', () => {
    const rows = [called('c', 'note'), result('c', 'error', REFUSED)]
    const acted = [deed('note', { at: 1 }), deed('note', { at: 2 })]
    const closed = (deeds: typeof acted) =>
      kinds(checkCalls(record(rows, { closed: true }), deeds, gatherEvidence(deeds, [])))
    expect(closed(acted.slice(1))).toEqual([])
    expect(closed(acted)).toEqual(['repeated'])
    expect(check(rows, acted.slice(1))).toEqual(['wrong'])
  })

  test('a tool that was refused by its ended parent is no finding', () => {
    const refused = 'Error: Expected an open thread, got p, which was closed.'
    const rows = [called('c', 'tell'), result('c', 'error', refused)]
    const acted = [deed('tell', { at: 1 })]
    const of = (parentClosed: boolean) =>
      kinds(checkCalls(record(rows), acted, gatherEvidence(acted, []), parentClosed))
    expect(of(true)).toEqual([])
    expect(of(false)).toEqual(['wrong'])
  })

  test('a call without a result is lost', () => {
    expect(check([book], [])).toEqual(['lost'])
  })

  test('a success without its side effect is lost', () => {
    expect(check([book, result('c', 'success', 'book done')], [])).toEqual(['lost'])
  })

  test('two side effects of one call are repeated', () => {
    const rows = [book, result('c', 'success', 'book done')]
    expect(check(rows, [deed('book', { at: 1 }), deed('book', { at: 2 })])).toEqual(['repeated'])
  })

  test('a side effect behind its own result is repeated', () => {
    const rows = [called('c', 'charge'), result('c', 'success', 'charge done')]
    expect(check(rows, [deed('charge', { at: 1 }), deed('charge', { at: 2 })], 3)).toEqual([])
    expect(check(rows, [deed('charge', { at: 1 }), deed('charge', { at: 4 })], 3)).toEqual(['repeated'])
  })

  test('an idempotent call that is left unknown is wrong', () => {
    expect(check([called('c', 'charge'), unknown], [])).toEqual(['wrong'])
  })

  test('an error that no cut explains is wrong', () => {
    expect(check([book, result('c', 'error', 'Error: no')], [deed('book', { at: 1 })])).toEqual(['wrong'])
  })

  test('a side effect of no call is wrong', () => {
    expect(check([], [deed('book', { at: 1 })])).toEqual(['wrong'])
  })
})

describe('models', () => {
  const [first = '', second = ''] = NONCES
  const check = (...requests: readonly ReturnType<typeof asked>[]) => {
    const rows = [said('a1', `Yes. ${first}`), said('a2', `No. ${second}`)]
    return kinds(checkModels(record(rows), requests, gatherEvidence(requests, [])))
  }

  test('a request that shows all earlier answers is no finding', () => {
    expect(check(asked(first, [], 1), asked('~cut~', [first], 2), asked(second, [first], 3))).toEqual([])
  })

  test('a request that asks for a committed answer is repeated', () => {
    expect(check(asked(first, [], 1), asked(second, [first], 2), asked('~again~', [], 3))).toEqual([
      'repeated',
    ])
  })

  test('an answer is missed by a request unless more rows than a window holds stand between', () => {
    const behind = (count: number) => {
      const words = Array.from({ length: count }, (_, index) => user(`m${index}`, 'Words'))
      const rows = [said('a1', first), ...words, said('a2', second)]
      const requests = [asked(first, [], 1), asked('~cut~', [first], 2), asked(second, [], 3)]
      return kinds(checkModels(record(rows), requests, gatherEvidence(requests, [])))
    }
    expect(behind(499)).toEqual(['repeated'])
    expect(behind(500)).toEqual([])
  })

  test('an answer right where half a window begins is missed: a cut window begins with a turn', () => {
    const words = (name: string, count: number) =>
      Array.from({ length: count }, (_, index) => user(`${name}${index}`, 'Words'))
    const behind = (count: number) => {
      const rows = [...words('m', 300), said('a1', first), ...words('n', count), said('a2', second)]
      const requests = [asked(first, [], 1), asked('~cut~', [first], 2), asked(second, [], 3)]
      return kinds(checkModels(record(rows), requests, gatherEvidence(requests, [])))
    }
    expect(behind(248)).toEqual(['repeated'])
    expect(behind(249)).toEqual([])
  })
})

describe('events', () => {
  const facts = [fact(1, 'run.started', { runId: 'r' }), fact(2, 'run.completed', { runId: 'r' })]
  const got = (sequence: number, at = sequence) => received({ type: 'x', sequence, at })
  const check = (lines: readonly ReturnType<typeof received>[], log = facts) =>
    kinds(checkEvents(record([], { facts: log }), lines))

  test('a whole log that was received whole is no finding', () => {
    expect(check([got(1), got(2)])).toEqual([])
  })

  test('an event that was not received is lost', () => {
    expect(check([got(1)])).toEqual(['lost'])
    expect(check([got(2)])).toEqual(['lost'])
  })

  test('an event that was received twice is doubled', () => {
    expect(check([got(1), got(1, 2), got(2)])).toContain('doubled')
  })

  test('a gap in the log is lost', () => {
    expect(
      check(
        [got(1), got(3)],
        [fact(1, 'run.started', { runId: 'r' }), fact(3, 'run.completed', { runId: 'r' })],
      ),
    ).toContain('lost')
  })

  test('a run that does not end is wrong', () => {
    expect(check([got(1)], facts.slice(0, 1))).toEqual(['wrong'])
  })
})

describe('deltas', () => {
  const text = (attempt: number, offset: number, words: string) =>
    received({
      type: 'model.delta',
      messageId: 'm',
      sequence: null,
      at: 1,
      delta: { attempt, offset, text: words },
    })
  const asks = received({ type: 'model.requested', messageId: 'm', sequence: 2, at: 1 })
  const check = (...lines: readonly ReturnType<typeof received>[]) =>
    kinds(checkDeltas(record([said('m', 'One two')]), lines))

  test('text in pieces, of the last attempt, is no finding', () => {
    expect(check(asks, text(1, 0, 'One '), text(1, 4, 'two'))).toEqual([])
    expect(check(asks, text(1, 0, 'Other'), asks, text(2, 0, 'One '))).toEqual([])
    expect(check(asks, text(1, 0, 'Other'), asks)).toEqual([])
  })

  test('text with a gap, or of an attempt that was given up, is wrong', () => {
    expect(check(asks, text(1, 0, 'One '), text(1, 5, 'wo'))).toEqual(['wrong', 'wrong'])
    expect(check(asks, text(1, 0, 'One'), asks, text(1, 3, ' two'))).toContain('wrong')
  })

  test('a stored message that was not streamed is wrong', () => {
    expect(check(asks, text(1, 0, 'Two '))).toEqual(['wrong'])
  })
})

describe('children', () => {
  const spawned = fact(1, 'subagent.spawned', { childId: 'k' })
  const told = fact(2, 'subagent.completed', { childId: 'k' })
  const check = (...facts: readonly ReturnType<typeof fact>[]) => {
    const parent = record([], { facts })
    const kid = child('k', [fact(1, 'run.started', { runId: 'r' }), fact(2, 'run.completed', { runId: 'r' })])
    return kinds(checkChildren(parent, [parent, kid]))
  }

  test('a session that is told once is no finding', () => {
    expect(check(spawned, told)).toEqual([])
  })

  test('a session that is not told is lost', () => {
    expect(check(spawned)).toEqual(['lost'])
  })

  test('a session that is told twice is doubled', () => {
    expect(check(spawned, told, told)).toEqual(['doubled'])
  })

  test('a message that met a stop is told beside the sessions', () => {
    const inputs = [3, 4].map((sequence) => fact(sequence, 'subagent.input', { childId: 'k' }))
    const cut = fact(5, 'subagent.failed', { childId: 'k' }, { reason: 'stopped' })
    expect(check(spawned, told, ...inputs, cut)).toEqual([])
    expect(check(spawned, told, ...inputs, cut, cut)).toEqual(['doubled'])
    expect(check(spawned, told, told, ...inputs)).toEqual(['doubled'])
  })
})

describe('writes', () => {
  const ref = '<m0.0.0>'
  const call = (name: string, id = 'c', mark = ref) => called(id, name, { ref: mark })
  const done = (words: string, id = 'c') => result(id, 'success', words)
  const cut = result('c', 'error', 'The outcome of this call is unknown: …')
  const check = async (
    rows: Parameters<typeof record>[0],
    {
      files = ['/notes/m0.0.0.txt'],
      of = record(rows),
      parent,
    }: { files?: string[]; of?: ReturnType<typeof record>; parent?: ReturnType<typeof record> } = {},
  ) => kinds(await checkWrites(holding(files), of, new Map(parent === undefined ? [] : [['parent', parent]])))

  test('a note whose message and file are there is no finding', async () => {
    expect(await check([call('note'), done('note 1 …'), user('n', `noted ${ref}`)])).toEqual([])
    expect(await check([call('note'), cut], { files: [] })).toEqual([])
  })

  test('a success without its message is lost', async () => {
    expect(await check([call('note'), done('note 1 …')])).toEqual(['lost'])
    expect(await check([call('remind'), done('reminded')])).toEqual(['lost'])
  })

  test('a message that is there twice, or without a success, is doubled', async () => {
    const noted = [user('n', `noted ${ref}`), user('n2', `noted ${ref}`)]
    expect(await check([call('note'), done('note 1 …'), ...noted])).toEqual(['doubled'])
    expect(await check([call('note'), cut, user('n', `noted ${ref}`)], { files: [] })).toEqual(['doubled'])
  })

  test('a file that is missing, or there without a success, is wrong', async () => {
    const noted = user('n', `noted ${ref}`)
    expect(await check([call('note'), done('note 1 …'), noted], { files: [] })).toEqual(['wrong'])
    expect(await check([call('note'), cut])).toEqual(['wrong'])
  })

  test('what a note wrote before its ended thread refused it is there', async () => {
    const rows = [call('note'), result('c', 'error', REFUSED)]
    const of = record(rows, { closed: true })
    expect(await check(rows, { of })).toEqual([])
    expect(await check(rows, { of, files: [] })).toEqual(['wrong'])
    expect(await check(rows)).toEqual(['wrong'])
  })

  test('a value that was counted twice is wrong', async () => {
    const rows = [call('note'), done('note 1'), user('n', `noted ${ref}`)]
    const again = [call('note', 'd', '<m1.0.0>'), done('note 1', 'd'), user('o', 'noted <m1.0.0>')]
    const files = ['/notes/m0.0.0.txt', '/notes/m1.0.0.txt']
    expect(await check([...rows, ...again], { files })).toEqual(['wrong'])
  })

  test('words for a parent are looked for in the parent', async () => {
    const rows = [call('tell'), done('said')]
    const of = { ...record(rows), parent: 'parent' }
    expect(await check([], { of, parent: record([user('w', `told ${ref}`)]) })).toEqual([])
    expect(await check([], { of, parent: record([]) })).toEqual(['lost'])
    expect(await check([], { of, parent: record([], { closed: true }) })).toEqual([])
  })
})
