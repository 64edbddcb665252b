import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { giveStylesTheNonce } from './csp-nonce.ts'
import { takeFirstAnswers } from './first-answers.ts'
import { queries } from './query-client.ts'
import { makeRouter } from './routes.tsx'
import './styles.css'
import { applyTheme } from './theme.ts'

giveStylesTheNonce()
applyTheme()
takeFirstAnswers()

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <RouterProvider router={makeRouter(queries)} />
    </QueryClientProvider>
  </StrictMode>,
)
