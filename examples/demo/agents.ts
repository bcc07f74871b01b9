import { defineAgent } from 'everthread'

/** Talks to a person. */
export const support = defineAgent({ name: 'support', sideA: { prompt: 'support_desk', maxSteps: 20 } })

/** Two models talk to each other until one approves: a subagent of the support desk, in a thread of its own that stays open. */
export const research = defineAgent({
  name: 'research',
  type: 'dual_ai',
  exposeAsTool: true,
  toolDescription:
    'Looks into what a customer noted. Gives the notes back with remarks that a reviewer approved.',
  maxSessionTurns: 8,
  sideA: { label: 'researcher', prompt: 'researcher' },
  sideB: {
    label: 'reviewer',
    prompt: 'reviewer',
    sessionStop: { name: 'approve', messageProperty: 'summary', attachmentsProperty: 'files' },
  },
})
