/** The Temporal server of the demo. */
export const TEMPORAL_ADDRESS = process.env['TEMPORAL_ADDRESS'] ?? '127.0.0.1:7233'

/** The address that a client takes if none is set. */
const isDefault = /^(127\.0\.0\.1|localhost):7233$/.test(TEMPORAL_ADDRESS)

/** The command that says this to the agent, for a shell in the folder of the repository. */
export function clientCommand(text: string, thread = ''): string {
  const address = isDefault ? '' : `TEMPORAL_ADDRESS=${TEMPORAL_ADDRESS} `
  return `${address}npx node examples/demo/client.ts "${text}" ${thread}`.trimEnd()
}
