// What a chat completion answered, read along while the bot reads it.

interface Choice {
  index?: number;
  message?: { content?: string | null };
  delta?: { content?: string | null };
}

interface Completion {
  id?: string;
  choices?: Choice[];
}

/** watch is the same response, and tells the text of the answer when it ends; "" where there is none. */
export function watch(response: Response, tell: (text: string, id: string) => void): Response {
  if (!response.ok || !response.body) {
    tell("", "");
    return response;
  }
  const streamed = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
  const answer = new Answer(streamed);
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let told = false;
  const end = (whole: boolean) => {
    if (told) return;
    told = true;
    answer.read(decoder.decode() + "\n", whole);
    tell(answer.text, answer.id);
  };
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) {
          end(true);
          controller.close();
          return;
        }
        answer.read(decoder.decode(value, { stream: true }));
        controller.enqueue(value);
      } catch (error) {
        answer.text = ""; // nobody knows how much of it was seen
        end(false);
        throw error;
      }
    },
    async cancel(reason) {
      end(false);
      await reader.cancel(reason);
    },
  }, { highWaterMark: 0 }); // nothing is read that the bot has not asked for
  return new Response(body, response);
}

/** Answer puts the text of a completion together, streamed or not. */
class Answer {
  id = "";
  text = "";
  #rest = "";

  constructor(readonly streamed: boolean) {}

  read(text: string, last = false): void {
    this.#rest += text;
    if (!this.streamed) {
      if (last) this.#add(this.#rest);
      return;
    }
    const lines = this.#rest.split(/\r?\n/);
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line.startsWith("data:")) this.#add(line.slice(5));
    }
  }

  #add(json: string): void {
    let completion: Completion;
    try {
      completion = JSON.parse(json) as Completion;
    } catch {
      return; // [DONE], or nothing that we know
    }
    this.id ||= completion.id ?? "";
    const choice = completion.choices?.find((c) => (c.index ?? 0) === 0);
    this.text += choice?.message?.content ?? choice?.delta?.content ?? "";
  }
}
