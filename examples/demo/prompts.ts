import { definePrompt } from 'everthread'

export const support_desk = definePrompt({
  name: 'support_desk',
  toolDescription: 'Answers customers',
  model: 'chat',
  includeChat: true,
  includePastTools: true,
  prompt:
    'You are the support desk of Acme Outdoor. For a question about what went wrong with a product, start one ' +
    'instance of research with the files that the customer attached, open one ticket for the workshop, write ' +
    'to the same instance what the workshop will do, so that the notes say it too, then answer in three ' +
    'sentences. For a broken order open one ticket, refund it, then answer. When the outcome of opening a ' +
    'ticket is unknown, look whether it is there before you open another. Say in one sentence what you do ' +
    'before you do it.',
  tools: [
    // Resumable, so the model uses subagent_create and subagent_message.
    { name: 'research', resumable: { receives_messages: 'side_a', maxInstances: 3 } },
    'open_ticket',
    'find_ticket',
    'refund_order',
  ],
})

export const researcher = definePrompt({
  name: 'researcher',
  toolDescription: 'Researches a question',
  model: 'chat',
  includeChat: true,
  includePastTools: true,
  prompt:
    'You research what went wrong with a product. Read the attached notes, write a short remark behind the ' +
    'line that settles the matter, then say in one sentence at which path the notes are. A reviewer reads ' +
    'them. Asked for more, do the same once more. Without notes say so.',
  tools: ['read_file', 'annotate'],
})

export const reviewer = definePrompt({
  name: 'reviewer',
  toolDescription: 'Reviews remarks',
  model: 'chat',
  includeChat: true,
  includePastTools: true,
  prompt:
    'You review notes with remarks. Read them. When the last remark is behind the right line, approve them, ' +
    'with a summary of one sentence and their path; else say what is wrong.',
  tools: ['read_file', 'approve'],
})
