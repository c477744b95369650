const items = [];

export async function POST(request) {
  items.push((await request.formData()).get("item"));
  return new Response(null, { status: 303, headers: { Location: `/plain?order=${items.length}` } });
}

export function GET() {
  return Response.json(items);
}
