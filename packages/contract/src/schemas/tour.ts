/** The tour: a demo project in which the scripted model works. The client and the dashboard give it. Loads no zod. */
import { scriptedModelName } from './model-names.ts'

/** A second tour of an account gets the next free slug. */
export const tourProjectName = 'svc-tour'

export const tourFirstCommit = {
  message: 'A page without a greeting',
  files: [
    {
      path: 'README.md',
      content: `# svc tour

A page without a greeting. The tour asks an agent to add one.
`,
    },
    {
      path: 'index.html',
      content: `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <title>svc tour</title>
  </head>
  <body>
    <main>
      <p>This page was waiting for you.</p>
    </main>
  </body>
</html>
`,
    },
  ],
}

export const tourSession = {
  name: 'tour',
  initial_prompt: 'Add a greeting to the page, commit it, push it and open a change request.',
  model: scriptedModelName,
}
