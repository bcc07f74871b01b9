import { defineAgent } from 'everthread'

/** Talks to a person. */
export const support = defineAgent({ name: 'support', sideA: { prompt: 'support_desk', maxSteps: 20 } })

/** Two models talk to each other until one approves: a tool of the support desk, in a thread of its own. */
export const research = defineAgent({
  name: 'research',
  type: 'dual_ai',
  exposeAsTool: true,
  toolDescription: 'Have a question researched and reviewed. Gives back a report as a file.',
  maxSessionTurns: 8,
  sideA: { label: 'researcher', prompt: 'researcher' },
  sideB: {
    label: 'reviewer',
    prompt: 'reviewer',
    sessionStop: { name: 'approve', messageProperty: 'summary', attachmentsProperty: 'report' },
  },
})
