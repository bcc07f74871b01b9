import { expect, test } from 'vitest'

import type { WorkflowEnd, WorkflowFailure } from '../../protocol/payloads/tool-workflow.js'
import { toOutcome } from './outcome.js'

const outcomeOf = (end: WorkflowEnd) =>
  toOutcome({
    ...{ level: 1, threadId: 't', store: 's', callId: 'call_1_1_0', tool: 'refund', mode: 'execute', end },
    workflow: { type: 'refundOrder', workflowId: 'refund-7', taskQueue: 'payments', timeout: 1_000 },
  })

const failure = (fields: Partial<WorkflowFailure>): WorkflowEnd => ({
  ...{ kind: 'failed' },
  failure: { message: 'No.', type: null, is: 'failure', nonRetryable: false, ...fields },
})

const told = (category: string, code: string, message = 'No.') => ({
  ...{ status: 'failed', category, code, message },
})

test.each<readonly [string, WorkflowEnd, object]>([
  ['that may be retried', failure({}), told('unknown', 'workflow_failed')],
  ['of the type of any error', failure({ type: 'Error' }), told('unknown', 'workflow_failed')],
  ['that is final', failure({ type: 'OrderGone', nonRetryable: true }), told('permanent', 'OrderGone')],
  [
    'whose type is a category',
    failure({ type: 'conflict', nonRetryable: true }),
    told('conflict', 'conflict'),
  ],
  ['that is a timeout', failure({ is: 'timeout' }), told('timeout', 'workflow_failed')],
  [
    'without words',
    failure({ message: '' }),
    told('unknown', 'workflow_failed', 'The workflow failed without a reason.'),
  ],
  [
    'that is a timeout without words',
    failure({ message: '', is: 'timeout' }),
    told('timeout', 'workflow_failed', 'An activity of the workflow did not end in time.'),
  ],
  [
    'by a cancellation',
    { kind: 'cancelled' },
    told('cancelled', 'workflow_cancelled', 'The workflow "refundOrder" (refund-7) was cancelled.'),
  ],
  [
    'by a taken id',
    { kind: 'id_taken' },
    told(
      ...(['conflict', 'workflow_id_taken'] as const),
      'The workflow "refundOrder" was not started, because another one has the id "refund-7".',
    ),
  ],
])('a failure %s has its category and code', async (_what, end, outcome) => {
  expect(await outcomeOf(end)).toEqual(outcome)
})
