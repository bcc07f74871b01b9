import type { Client } from '@temporalio/client'

import { recordedRuns } from '../../support/histories.js'

/** What the histories of a thread say that it sent to its parent, as JSON. */
export async function announcedReports(client: Client, threadId: string): Promise<readonly string[]> {
  const runs = await recordedRuns(client, threadId)
  return runs.flatMap(({ history }) =>
    (history.events ?? []).flatMap(({ signalExternalWorkflowExecutionInitiatedEventAttributes: sent }) => {
      const [report] = sent?.signalName === 'childReport' ? (sent.input?.payloads ?? []) : []
      return report?.data == null ? [] : [Buffer.from(report.data).toString()]
    }),
  )
}
