/** What the model reads as the result of a call that was cut off: by a stop, or by the end of its thread. */
export const CUT_CALL = {
  interrupted:
    'This call was interrupted: the run was ended before it answered. It may have taken effect in part.',
  cancelled: 'This call was cancelled: the thread was terminated.',
} as const
