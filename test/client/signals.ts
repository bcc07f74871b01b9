import type { ThreadHandle } from '../../src/client/index.js'

/** The signals that a thread's workflow got, with their inputs as they were sent. */
export async function signalsOf({
  workflow,
}: Pick<ThreadHandle, 'workflow'>): Promise<readonly (readonly [string, string | undefined])[]> {
  const { events } = await workflow.fetchHistory()
  return (events ?? []).flatMap(({ workflowExecutionSignaledEventAttributes: signal }) =>
    signal ? [[signal.signalName ?? '', textOf(signal.input?.payloads?.[0]?.data)] as const] : [],
  )
}

export function textOf(data: Uint8Array | null | undefined): string | undefined {
  return data ? Buffer.from(data).toString() : undefined
}
