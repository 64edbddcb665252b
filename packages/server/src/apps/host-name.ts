/** The first label of an app's address. All projects of a server share these names, so each is kept with its app. */

const labelCharsMax = 63

/** In the order they are tried; the last is unique by the project's id. */
export function hostNames(input: { app: string; projectSlug: string; projectId: string }): string[] {
  // Two letters that would make it look like a name in another alphabet.
  const app = input.app === 'xn' ? 'app-xn' : input.app
  const plain = `${app}--${input.projectSlug}`
  const id = input.projectId.slice(0, 8)
  const room = labelCharsMax - app.length - id.length - 3
  const short = input.projectSlug.slice(0, Math.max(0, room)).replace(/-+$/, '')
  const exact = `${app}--${[short, id].filter((part) => part !== '').join('-')}`
  const longest = `${app.slice(0, 24).replace(/-+$/, '')}--${input.projectId}`
  return [plain, exact, longest].filter((name) => name.length <= labelCharsMax && !isPreview(name))
}

/** Addresses of previews come first. */
const isPreview = (name: string) => /^[1-9][0-9]{0,4}--[0-9a-f-]{36}$/.test(name)
