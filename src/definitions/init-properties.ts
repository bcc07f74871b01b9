import type { SubpromptConfig } from './prompt.js'

type InitProperties = Pick<SubpromptConfig, 'initUserMessageProperty' | 'initAttachmentsProperty'>

/** Which arguments become a first message; what is not given is left out. */
export function initProperties({
  initUserMessageProperty,
  initAttachmentsProperty,
}: InitProperties): InitProperties {
  return {
    ...(initUserMessageProperty === undefined ? {} : { initUserMessageProperty }),
    ...(initAttachmentsProperty === undefined ? {} : { initAttachmentsProperty }),
  }
}
