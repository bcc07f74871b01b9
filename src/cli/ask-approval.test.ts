import { expect, test } from 'vitest'

import { scriptedTerminal } from '../../test/support/scripted-terminal.js'
import type { ApprovalRequest, BudgetRequest } from '../client/index.js'
import { askForApproval, askForBudget } from './ask-approval.js'

const REQUEST: ApprovalRequest = {
  ...{
    id: 'approval_c',
    kind: 'approval',
    toolCallId: 'c',
    action: 'tool',
    toolName: 'refund',
    requestedAt: 1,
  },
  args: { euros: 5 },
  preview: [
    { type: 'text', text: 'Five euros\nfor Ann', title: 'Refund' },
    { type: 'json', value: { a: 1 } },
    { type: 'diff', before: 'old', after: 'new' },
    { type: 'file', path: '/bill.pdf' },
  ],
  decision: {
    source: 'policy',
    reason: 'It is large.',
    destructive: { impact: 'Money goes.', undo: 'Charge.' },
  },
  answers: ['approve', 'deny', 'remember', 'arguments', 'result'],
  approvers: { roles: [['manager']] },
  expiresAt: 3_600_000_000,
}

async function talk(request: ApprovalRequest | BudgetRequest, ...lines: readonly (string | null)[]) {
  const { terminal, shown } = scriptedTerminal(lines)
  const asking = { terminal, signal: new AbortController().signal }
  const answer =
    request.kind === 'budget'
      ? await askForBudget(asking, request, ' of Bob')
      : await askForApproval(asking, request, ' of Bob')
  return { answer, shown: shown() }
}

test('a person sees what would happen, why they are asked, who may answer and until when', async () => {
  const { shown } = await talk(REQUEST, 'n')
  for (const line of [
    ...['  Refund:', '  Five euros', '  for Ann', '  "a": 1', '  - old', '  + new', '  The file /bill.pdf'],
    ...['Why it asks: It is large.', 'What it changes: Money goes.', 'To undo it: Charge.'],
    ...['Who may answer: manager', 'Until 1970-01-01T01:00:00.000Z', 'Allow refund {"euros":5} of Bob?'],
  ])
    expect(shown).toContain(line)
})

test.each([
  [['y'], { approved: true, by: 'cli' }],
  [['always'], { approved: true, by: 'cli', remember: { for: 'thread' } }],
  [[''], { approved: false, by: 'cli' }],
  [['Too much.'], { approved: false, by: 'cli', reason: 'Too much.' }],
  [['e', '{"euros":', '{"euros":4}'], { approved: true, by: 'cli', arguments: { euros: 4 } }],
  [['e', null], null],
  [[null], null],
])('the lines %j are the answer %j', async (lines, expected) => {
  expect((await talk(REQUEST, ...lines)).answer).toEqual(expected)
})

test('what cannot be edited is not: the letter is a reason', async () => {
  const { answer, shown } = await talk({ ...REQUEST, answers: ['approve', 'deny', 'remember'] }, 'e')
  expect(answer).toEqual({ approved: false, by: 'cli', reason: 'e' })
  expect(shown).not.toContain('edit')
})

const BUDGET: BudgetRequest = {
  ...{ id: 'budget_m', kind: 'budget', scope: 'tree', period: 'day', limit: 'maxCost', most: 1, used: 0.9 },
  requestedAt: 1,
}

test('a person raises a budget by as much again, to a number, or not', async () => {
  const answers = await Promise.all(
    [['y'], ['n'], [''], ['5'], ['0.5', '2'], [null]].map((lines) => talk(BUDGET, ...lines)),
  )
  expect(answers.map(({ answer }) => answer)).toEqual([
    { approved: true, by: 'cli' },
    { approved: false, by: 'cli' },
    { approved: false, by: 'cli' },
    { approved: true, by: 'cli', raise: 5 },
    { approved: true, by: 'cli', raise: 2 },
    null,
  ])
  expect(answers[4]?.shown).toContain('! Expected y, n or a number above 1, got 0.5')
})
